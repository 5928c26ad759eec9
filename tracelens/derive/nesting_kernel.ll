; 0b6b55c97dcf27eaea80def5f2ce34bc8d4e2686d3ea8b52e918aae9c8ce1a4d


define noundef range(i32 -1, -2) i32 @walk(ptr noalias writeonly captures(none) %retptr, ptr noalias readnone captures(none) %excinfo, i64 %arg.state) local_unnamed_addr {
B0.endif:
  %.9 = add nsw i64 %arg.state, 8
  %.10 = inttoptr i64 %.9 to ptr
  %.11 = load i64, ptr %.10, align 1
  %.17 = add nsw i64 %arg.state, 32
  %.18 = inttoptr i64 %.17 to ptr
  %.19 = load i64, ptr %.18, align 1
  %.22 = add nsw i64 %arg.state, 40
  %.23 = inttoptr i64 %.22 to ptr
  %.24 = load i64, ptr %.23, align 1
  %.33 = add nsw i64 %arg.state, 24
  %.34 = inttoptr i64 %.33 to ptr
  %.35 = load i64, ptr %.34, align 1
  %.38 = add nsw i64 %arg.state, 48
  %.39 = inttoptr i64 %.38 to ptr
  %.40 = load i64, ptr %.39, align 1
  %.49 = add nsw i64 %arg.state, 72
  %.50 = inttoptr i64 %.49 to ptr
  %.51 = load i64, ptr %.50, align 1
  %.54 = add nsw i64 %arg.state, 80
  %.55 = inttoptr i64 %.54 to ptr
  %.56 = load i64, ptr %.55, align 1
  %.65 = add nsw i64 %arg.state, 96
  %.66 = inttoptr i64 %.65 to ptr
  %.67 = load i64, ptr %.66, align 1
  %.73 = add nsw i64 %arg.state, 104
  %.74 = inttoptr i64 %.73 to ptr
  %.75 = load i64, ptr %.74, align 1
  %.88 = inttoptr i64 %arg.state to ptr
  %.89 = load i64, ptr %.88, align 1
  %.172467.not = icmp slt i64 %.89, 1
  br i1 %.172467.not, label %common.ret, label %B562.lr.ph

B562.lr.ph:                                       ; preds = %B0.endif
  %0 = add i64 %.67, -16
  %1 = add i64 %.67, 8
  br label %B562

B562:                                             ; preds = %B3307, %B562.lr.ph
  %lane.2.0473 = phi i64 [ -1, %B562.lr.ph ], [ %lane.3.1386400410, %B3307 ]
  %height.7.0472 = phi i64 [ 0, %B562.lr.ph ], [ %height.8.1, %B3307 ]
  %.178454470 = phi i64 [ 0, %B562.lr.ph ], [ %.185, %B3307 ]
  %.185 = add nuw nsw i64 %.178454470, 1
  %sunkaddr = inttoptr i64 %arg.state to ptr
  %sunkaddr45 = getelementptr i8, ptr %sunkaddr, i64 16
  %.224 = load i64, ptr %sunkaddr45, align 1
  %.225 = shl nsw i64 %.178454470, 3
  %.226 = add nsw i64 %.224, %.225
  %.227 = inttoptr i64 %.226 to ptr
  %.228 = load i64, ptr %.227, align 1
  %.233 = shl nsw i64 %.228, 3
  %.235 = add nsw i64 %.233, %.19
  %.236 = inttoptr i64 %.235 to ptr
  %.237 = load i64, ptr %.236, align 1
  %.241 = add nsw i64 %.233, %.24
  %.242 = inttoptr i64 %.241 to ptr
  %.243 = load i64, ptr %.242, align 1
  %.253 = add nsw i64 %.233, %.35
  %.254 = inttoptr i64 %.253 to ptr
  %.255 = load i64, ptr %.254, align 1
  %.257.not = icmp eq i64 %.255, %lane.2.0473
  br i1 %.257.not, label %B834, label %B834.thread

B834:                                             ; preds = %B562
  %.278.not.not = icmp sge i64 %.228, %.11
  %.284 = icmp sgt i64 %height.7.0472, 0
  %or.cond443 = select i1 %.278.not.not, i1 %.284, i1 false
  br i1 %or.cond443, label %B858, label %B1068

B834.thread:                                      ; preds = %B562
  %.278384.not = icmp slt i64 %.228, %.11
  br i1 %.278384.not, label %B1450, label %B1348

B858:                                             ; preds = %B834
  %sunkaddr46 = inttoptr i64 %.67 to ptr
  %sunkaddr47 = mul i64 %height.7.0472, 8
  %sunkaddr48 = getelementptr i8, ptr %sunkaddr46, i64 %sunkaddr47
  %sunkaddr49 = getelementptr i8, ptr %sunkaddr48, i64 -8
  %.301 = load i64, ptr %sunkaddr49, align 1
  %.302 = shl nsw i64 %.301, 3
  %.304 = add nsw i64 %.302, %.24
  %.305 = inttoptr i64 %.304 to ptr
  %.306 = load i64, ptr %.305, align 1
  %.308 = icmp slt i64 %.306, %.237
  br i1 %.308, label %B952.preheader, label %B1068.thread

B952.preheader:                                   ; preds = %B858
  %2 = shl i64 %height.7.0472, 3
  %3 = add i64 %0, %2
  br label %B952

B952:                                             ; preds = %B974, %B952.preheader
  %lsr.iv = phi i64 [ %3, %B952.preheader ], [ %lsr.iv.next, %B974 ]
  %height.10.2 = phi i64 [ %.314, %B974 ], [ %height.7.0472, %B952.preheader ]
  %.324 = icmp sgt i64 %height.10.2, 1
  br i1 %.324, label %B974, label %B1336

B974:                                             ; preds = %B952
  %.314 = add i64 %height.10.2, -1
  %.339 = inttoptr i64 %lsr.iv to ptr
  %.340 = load i64, ptr %.339, align 1
  %.341 = shl nsw i64 %.340, 3
  %.343 = add nsw i64 %.341, %.24
  %.344 = inttoptr i64 %.343 to ptr
  %.345 = load i64, ptr %.344, align 1
  %.347 = icmp slt i64 %.345, %.237
  %lsr.iv.next = add i64 %lsr.iv, -8
  br i1 %.347, label %B952, label %B1068.thread

B1068.thread:                                     ; preds = %B974, %B858
  %height.9.1.ph = phi i64 [ %height.7.0472, %B858 ], [ %.314, %B974 ]
  %.367487 = add nsw i64 %height.9.1.ph, -1
  br label %B1098.preheader

B1068:                                            ; preds = %B834
  %4 = icmp sgt i64 %height.7.0472, 0
  %.367 = add nsw i64 %height.7.0472, -1
  br i1 %4, label %B1098.preheader, label %B1336

B1098.preheader:                                  ; preds = %B1068, %B1068.thread
  %.367491 = phi i64 [ %.367487, %B1068.thread ], [ %.367, %B1068 ]
  %height.9.1490 = phi i64 [ %height.9.1.ph, %B1068.thread ], [ %height.7.0472, %B1068 ]
  %5 = shl i64 %.367491, 3
  %6 = add nsw i64 %.67, %5
  br label %B1098

B1098:                                            ; preds = %B1298, %B1098.preheader
  %lsr.iv30 = phi i64 [ %6, %B1098.preheader ], [ %lsr.iv.next31, %B1298 ]
  %overlapped.4.1 = phi i64 [ %spec.select, %B1298 ], [ 0, %B1098.preheader ]
  %place.6.1 = phi i64 [ %.513, %B1298 ], [ %.367491, %B1098.preheader ]
  %.396 = inttoptr i64 %lsr.iv30 to ptr
  %.397 = load i64, ptr %.396, align 1
  %.402 = shl nsw i64 %.397, 3
  %.404 = add nsw i64 %.402, %.24
  %.405 = inttoptr i64 %.404 to ptr
  %.406 = load i64, ptr %.405, align 1
  %.412 = icmp eq i64 %.406, %.237
  br i1 %.412, label %B1194, label %B1258

B1194:                                            ; preds = %B1098
  %7 = icmp eq i64 %.237, %.243
  br i1 %7, label %B1288, label %B1298

B1258:                                            ; preds = %B1098
  %.441 = icmp sgt i64 %.406, %.237
  %.448 = add nsw i64 %.406, %.75
  %.450 = icmp sle i64 %.243, %.448
  %or.cond = select i1 %.441, i1 %.450, i1 false
  br i1 %or.cond, label %B1336, label %B1298

B1288:                                            ; preds = %B1194
  %sunkaddr50 = inttoptr i64 %.19 to ptr
  %sunkaddr51 = mul i64 %.397, 8
  %sunkaddr52 = getelementptr i8, ptr %sunkaddr50, i64 %sunkaddr51
  %.426 = load i64, ptr %sunkaddr52, align 1
  %.428 = icmp slt i64 %.426, %.237
  br i1 %.428, label %B1336, label %B1298

B1298:                                            ; preds = %B1288, %B1258, %B1194
  %.494 = icmp slt i64 %.237, %.406
  %spec.select = select i1 %.494, i64 1, i64 %overlapped.4.1
  %.513 = add i64 %place.6.1, -1
  %lsr.iv.next31 = add i64 %lsr.iv30, -8
  %8 = add i64 %.513, 1
  %.518 = icmp sgt i64 %8, 0
  br i1 %.518, label %B1098, label %B1336

B1336:                                            ; preds = %B1298, %B1288, %B1258, %B1068, %B952
  %height.9.1489 = phi i64 [ %height.7.0472, %B1068 ], [ %height.9.1490, %B1288 ], [ %height.9.1490, %B1298 ], [ %height.9.1490, %B1258 ], [ 0, %B952 ]
  %overlapped.2.2 = phi i64 [ 0, %B1068 ], [ %overlapped.4.1, %B1288 ], [ %spec.select, %B1298 ], [ %overlapped.4.1, %B1258 ], [ 0, %B952 ]
  %place.7.2 = phi i64 [ %.367, %B1068 ], [ %place.6.1, %B1288 ], [ -1, %B1298 ], [ %place.6.1, %B1258 ], [ -1, %B952 ]
  %found.2.2 = phi i64 [ -1, %B1068 ], [ %.397, %B1288 ], [ -1, %B1298 ], [ %.397, %B1258 ], [ -1, %B952 ]
  %9 = icmp sge i64 %.228, %.11
  br i1 %9, label %B1348, label %B1450

B1348:                                            ; preds = %B1336, %B834.thread
  %found.2.2415 = phi i64 [ -1, %B834.thread ], [ %found.2.2, %B1336 ]
  %lane.3.1386400412 = phi i64 [ %.255, %B834.thread ], [ %lane.2.0473, %B1336 ]
  %height.9.1401409 = phi i64 [ 0, %B834.thread ], [ %height.9.1489, %B1336 ]
  %sunkaddr53 = inttoptr i64 %arg.state to ptr
  %sunkaddr54 = getelementptr i8, ptr %sunkaddr53, i64 88
  %.553 = load i64, ptr %sunkaddr54, align 1
  %.556 = sub nsw i64 %.228, %.11
  %.559 = shl nsw i64 %.556, 3
  %.560 = add nsw i64 %.553, %.559
  %.562 = inttoptr i64 %.560 to ptr
  store i64 %found.2.2415, ptr %.562, align 1
  br label %B3307

B1450:                                            ; preds = %B1336, %B834.thread
  %place.7.2414 = phi i64 [ -1, %B834.thread ], [ %place.7.2, %B1336 ]
  %overlapped.2.2413 = phi i64 [ 0, %B834.thread ], [ %overlapped.2.2, %B1336 ]
  %lane.3.1386400411 = phi i64 [ %.255, %B834.thread ], [ %lane.2.0473, %B1336 ]
  %.572 = add nsw i64 %place.7.2414, 1
  %sunkaddr55 = inttoptr i64 %arg.state to ptr
  %sunkaddr56 = getelementptr i8, ptr %sunkaddr55, i64 112
  %.589 = load i64, ptr %sunkaddr56, align 1
  %.591 = add nsw i64 %.589, %overlapped.2.2413
  store i64 %.591, ptr %sunkaddr56, align 1
  %sunkaddr57 = inttoptr i64 %.40 to ptr
  %sunkaddr58 = mul i64 %.228, 8
  %sunkaddr59 = getelementptr i8, ptr %sunkaddr57, i64 %sunkaddr58
  %.601 = load i64, ptr %sunkaddr59, align 1
  %.606 = icmp sgt i64 %.601, -1
  br i1 %.606, label %B1624, label %B2712

B1624:                                            ; preds = %B1450
  %.620 = icmp sgt i64 %place.7.2414, -1
  br i1 %.620, label %B1646, label %B2712.B3248_crit_edge

B1646:                                            ; preds = %B1624
  %.630 = shl nsw i64 %place.7.2414, 3
  %.634 = add nsw i64 %.630, %.67
  %.635 = inttoptr i64 %.634 to ptr
  %.636 = load i64, ptr %.635, align 1
  %.638.not = icmp eq i64 %.636, %.601
  br i1 %.638.not, label %B2726.endif.endif, label %B1696.preheader

B1696.preheader:                                  ; preds = %B1646
  %10 = shl i64 %place.7.2414, 3
  %11 = add i64 %1, %10
  br label %B1696

B1696:                                            ; preds = %B1718, %B1696.preheader
  %lsr.iv35 = phi i64 [ 0, %B1696.preheader ], [ %lsr.iv.next36, %B1718 ]
  %lsr.iv33 = phi i64 [ %11, %B1696.preheader ], [ %lsr.iv.next34, %B1718 ]
  %place.8.4 = phi i64 [ %.644, %B1718 ], [ %place.7.2414, %B1696.preheader ]
  %.654 = icmp sgt i64 %place.8.4, 0
  br i1 %.654, label %B1718, label %B2712

B1718:                                            ; preds = %B1696
  %.644 = add i64 %place.8.4, -1
  %12 = add i64 %lsr.iv33, -16
  %.668 = inttoptr i64 %12 to ptr
  %.669 = load i64, ptr %.668, align 1
  %.671.not = icmp eq i64 %.669, %.601
  %lsr.iv.next34 = add i64 %lsr.iv33, -8
  %lsr.iv.next36 = add nuw i64 %lsr.iv35, 1
  br i1 %.671.not, label %B1792, label %B1696

B1792:                                            ; preds = %B1718
  %13 = add i64 %.644, 1
  %.707.not = icmp sgt i64 %13, %place.7.2414
  %14 = add i64 %.644, 1
  br i1 %.707.not, label %B2002, label %B1804

B1804:                                            ; preds = %B1792
  %.722 = inttoptr i64 %lsr.iv.next34 to ptr
  %.723 = load i64, ptr %.722, align 1
  %.724 = shl nsw i64 %.723, 3
  %.726 = add nsw i64 %.724, %.40
  %.727 = inttoptr i64 %.726 to ptr
  %.728 = load i64, ptr %.727, align 1
  %.729 = icmp slt i64 %.728, 0
  br i1 %.729, label %B1892.preheader, label %B2002

B1892.preheader:                                  ; preds = %B1804
  br label %B1892

B1892:                                            ; preds = %B1914, %B1892.preheader
  %lsr.iv39 = phi i64 [ %lsr.iv33, %B1892.preheader ], [ %lsr.iv.next40, %B1914 ]
  %lsr.iv37 = phi i64 [ %lsr.iv35, %B1892.preheader ], [ %lsr.iv.next38, %B1914 ]
  %exitcond.not = icmp eq i64 %lsr.iv37, 0
  br i1 %exitcond.not, label %B2712, label %B1914

B1914:                                            ; preds = %B1892
  %.760 = inttoptr i64 %lsr.iv39 to ptr
  %.761 = load i64, ptr %.760, align 1
  %.762 = shl nsw i64 %.761, 3
  %.764 = add nsw i64 %.762, %.40
  %.765 = inttoptr i64 %.764 to ptr
  %.766 = load i64, ptr %.765, align 1
  %.767 = icmp slt i64 %.766, 0
  %lsr.iv.next38 = add nsw i64 %lsr.iv37, -1
  %lsr.iv.next40 = add i64 %lsr.iv39, 8
  br i1 %.767, label %B1892, label %B2002.loopexit

B2002.loopexit:                                   ; preds = %B1914
  %15 = sub i64 %place.7.2414, %lsr.iv.next38
  br label %B2002

B2002:                                            ; preds = %B2002.loopexit, %B1804, %B1792
  %place.11.3 = phi i64 [ %14, %B1792 ], [ %15, %B2002.loopexit ], [ %14, %B1804 ]
  %.785.not = icmp sgt i64 %place.11.3, %place.7.2414
  br i1 %.785.not, label %B2712, label %B2016.endif

B2050:                                            ; preds = %B2050.preheader, %B2466
  %lsr.iv43 = phi i64 [ %19, %B2050.preheader ], [ %lsr.iv.next44, %B2466 ]
  %lsr.iv41 = phi i64 [ %17, %B2050.preheader ], [ %lsr.iv.next42, %B2466 ]
  %.913 = inttoptr i64 %lsr.iv43 to ptr
  %.914 = load i64, ptr %.913, align 1
  %.919 = shl nsw i64 %.914, 3
  %.921 = add nsw i64 %.919, %.40
  %.922 = inttoptr i64 %.921 to ptr
  %.923 = load i64, ptr %.922, align 1
  %.924 = icmp sgt i64 %.923, -1
  br i1 %.924, label %B2144, label %B2252.endif

B2144:                                            ; preds = %B2050
  %sunkaddr60 = inttoptr i64 %arg.state to ptr
  %sunkaddr61 = getelementptr i8, ptr %sunkaddr60, i64 120
  %.933 = load i64, ptr %sunkaddr61, align 1
  %.934 = add nsw i64 %.933, 1
  store i64 %.934, ptr %sunkaddr61, align 1
  br label %B2252.endif

B2378:                                            ; preds = %B2252.endif
  %sunkaddr62 = inttoptr i64 %.51 to ptr
  %sunkaddr63 = mul i64 %.914, 8
  %sunkaddr64 = getelementptr i8, ptr %sunkaddr62, i64 %sunkaddr63
  %.997 = load i64, ptr %sunkaddr64, align 1
  %.999 = sub nsw i64 %.997, %.979
  store i64 %.999, ptr %sunkaddr64, align 1
  br label %B2466

B2466:                                            ; preds = %B2252.endif, %B2378
  %lsr.iv.next42 = add i64 %lsr.iv41, -1
  %lsr.iv.next44 = add i64 %lsr.iv43, 8
  %.872 = icmp samesign ugt i64 %lsr.iv.next42, 1
  br i1 %.872, label %B2050, label %B2468

B2468:                                            ; preds = %B2016.endif, %B2466
  %sunkaddr65 = inttoptr i64 %.67 to ptr
  %sunkaddr66 = mul i64 %place.11.3, 8
  %sunkaddr67 = getelementptr i8, ptr %sunkaddr65, i64 %sunkaddr66
  %sunkaddr68 = getelementptr i8, ptr %sunkaddr67, i64 -8
  %.1020 = load i64, ptr %sunkaddr68, align 1
  %.1025 = shl nsw i64 %.1020, 3
  %.1027 = add nsw i64 %.1025, %.56
  %.1028 = inttoptr i64 %.1027 to ptr
  %.1029 = load i64, ptr %.1028, align 1
  %.1031 = sub nsw i64 %.1029, %.237
  %.1036 = icmp sgt i64 %.1031, 0
  br i1 %.1036, label %B2576, label %B2712

B2576:                                            ; preds = %B2468
  %sunkaddr69 = inttoptr i64 %.51 to ptr
  %sunkaddr70 = mul i64 %.1020, 8
  %sunkaddr71 = getelementptr i8, ptr %sunkaddr69, i64 %sunkaddr70
  %.1047 = load i64, ptr %sunkaddr71, align 1
  %.1049 = add nsw i64 %.1047, %.1031
  store i64 %.1049, ptr %sunkaddr71, align 1
  %sunkaddr72 = inttoptr i64 %.56 to ptr
  %sunkaddr73 = mul i64 %.1020, 8
  %sunkaddr74 = getelementptr i8, ptr %sunkaddr72, i64 %sunkaddr73
  store i64 %.237, ptr %sunkaddr74, align 1
  br label %B2712

B2712:                                            ; preds = %B2576, %B2468, %B2002, %B1892, %B1696, %B1450
  %height.11.2 = phi i64 [ %.572, %B1450 ], [ %.572, %B2002 ], [ %place.11.3, %B2468 ], [ %place.11.3, %B2576 ], [ %.572, %B1892 ], [ %.572, %B1696 ]
  %.1083 = icmp sgt i64 %height.11.2, 0
  br i1 %.1083, label %B2726.endif.endif, label %B2712.B3248_crit_edge

B2712.B3248_crit_edge:                            ; preds = %B2712, %B1624
  %height.11.2515 = phi i64 [ %height.11.2, %B2712 ], [ %.572, %B1624 ]
  %.pre485 = shl nsw i64 %height.11.2515, 3
  br label %B3248

B2926:                                            ; preds = %B2726.endif.endif
  %sunkaddr75 = inttoptr i64 %.51 to ptr
  %sunkaddr76 = mul i64 %.1091, 8
  %sunkaddr77 = getelementptr i8, ptr %sunkaddr75, i64 %sunkaddr76
  %.1188 = load i64, ptr %sunkaddr77, align 1
  %.1191.neg = sub i64 %.13.i10, %.13.i11
  %.1194 = add i64 %.1191.neg, %.1188
  store i64 %.1194, ptr %sunkaddr77, align 1
  %sunkaddr78 = inttoptr i64 %.56 to ptr
  %sunkaddr79 = mul i64 %.1091, 8
  %sunkaddr80 = getelementptr i8, ptr %sunkaddr78, i64 %sunkaddr79
  store i64 %.13.i11, ptr %sunkaddr80, align 1
  br label %B3064

B3064:                                            ; preds = %B2726.endif.endif, %B2926
  %sunkaddr81 = inttoptr i64 %arg.state to ptr
  %sunkaddr82 = getelementptr i8, ptr %sunkaddr81, i64 56
  %.1215 = load i64, ptr %sunkaddr82, align 1
  %sunkaddr83 = inttoptr i64 %.1215 to ptr
  %sunkaddr84 = mul i64 %.228, 8
  %sunkaddr85 = getelementptr i8, ptr %sunkaddr83, i64 %sunkaddr84
  store i64 %.1091, ptr %sunkaddr85, align 1
  %sunkaddr86 = inttoptr i64 %arg.state to ptr
  %sunkaddr87 = getelementptr i8, ptr %sunkaddr86, i64 64
  %.1228 = load i64, ptr %sunkaddr87, align 1
  %sunkaddr88 = inttoptr i64 %.1228 to ptr
  %sunkaddr89 = mul i64 %.228, 8
  %sunkaddr90 = getelementptr i8, ptr %sunkaddr88, i64 %sunkaddr89
  store i64 %height.11.29, ptr %sunkaddr90, align 1
  br label %B3248

B3248:                                            ; preds = %B3064, %B2712.B3248_crit_edge
  %height.11.2514 = phi i64 [ %height.11.2515, %B2712.B3248_crit_edge ], [ %height.11.29, %B3064 ]
  %.1241.pre-phi = phi i64 [ %.pre485, %B2712.B3248_crit_edge ], [ %.1086, %B3064 ]
  %.1243 = add nsw i64 %.1241.pre-phi, %.67
  %.1245 = inttoptr i64 %.1243 to ptr
  store i64 %.228, ptr %.1245, align 1
  %.1250 = add nsw i64 %height.11.2514, 1
  br label %B3307

common.ret:                                       ; preds = %B3307, %B0.endif
  store i64 0, ptr %retptr, align 8
  ret i32 0

B3307:                                            ; preds = %B3248, %B1348
  %lane.3.1386400410 = phi i64 [ %lane.3.1386400412, %B1348 ], [ %lane.3.1386400411, %B3248 ]
  %height.8.1 = phi i64 [ %height.9.1401409, %B1348 ], [ %.1250, %B3248 ]
  %exitcond484.not = icmp eq i64 %.185, %.89
  br i1 %exitcond484.not, label %common.ret, label %B562

B2016.endif:                                      ; preds = %B2002
  %.829 = sub i64 %.572, %place.11.3
  %.872447.not = icmp slt i64 %.829, 1
  br i1 %.872447.not, label %B2468, label %B2050.preheader

B2050.preheader:                                  ; preds = %B2016.endif
  %16 = add i64 %place.7.2414, 2
  %17 = sub i64 %16, %place.11.3
  %18 = shl i64 %place.11.3, 3
  %19 = add i64 %.67, %18
  br label %B2050

B2252.endif:                                      ; preds = %B2144, %B2050
  %sunkaddr91 = inttoptr i64 %.24 to ptr
  %sunkaddr92 = mul i64 %.914, 8
  %sunkaddr93 = getelementptr i8, ptr %sunkaddr91, i64 %sunkaddr92
  %.943 = load i64, ptr %sunkaddr93, align 1
  %sunkaddr94 = inttoptr i64 %.56 to ptr
  %sunkaddr95 = mul i64 %.914, 8
  %sunkaddr96 = getelementptr i8, ptr %sunkaddr94, i64 %sunkaddr95
  %.949 = load i64, ptr %sunkaddr96, align 1
  %.13.i = tail call i64 @llvm.smax.i64(i64 %.949, i64 %.237)
  %.979 = sub nsw i64 %.943, %.13.i
  %.984 = icmp sgt i64 %.979, 0
  br i1 %.984, label %B2378, label %B2466

B2726.endif.endif:                                ; preds = %B2712, %B1646
  %height.11.29 = phi i64 [ %height.11.2, %B2712 ], [ %.572, %B1646 ]
  %.1086 = shl i64 %height.11.29, 3
  %sunkaddr97 = inttoptr i64 %.67 to ptr
  %sunkaddr98 = mul i64 %height.11.29, 8
  %sunkaddr99 = getelementptr i8, ptr %sunkaddr97, i64 %sunkaddr98
  %sunkaddr100 = getelementptr i8, ptr %sunkaddr99, i64 -8
  %.1091 = load i64, ptr %sunkaddr100, align 1
  %.1096 = shl nsw i64 %.1091, 3
  %.1098 = add nsw i64 %.1096, %.56
  %.1099 = inttoptr i64 %.1098 to ptr
  %.1100 = load i64, ptr %.1099, align 1
  %.13.i10 = tail call i64 @llvm.smax.i64(i64 %.1100, i64 %.237)
  %.1138 = add nsw i64 %.1096, %.24
  %.1139 = inttoptr i64 %.1138 to ptr
  %.1140 = load i64, ptr %.1139, align 1
  %.13.i11 = tail call i64 @llvm.smin.i64(i64 %.1140, i64 %.243)
  %.1177 = icmp slt i64 %.13.i10, %.13.i11
  br i1 %.1177, label %B2926, label %B3064
}

declare i64 @llvm.smax.i64(i64, i64)

declare i64 @llvm.smin.i64(i64, i64)

