; 5876ce18fa3ffd90d666b28749aa1716d14cddd0735559c8f5b9aa0f16a1965c


define noundef range(i32 -1, -2) i32 @climb(ptr noalias writeonly captures(none) %retptr, ptr noalias readnone captures(none) %excinfo, i64 %arg.state) local_unnamed_addr {
B0:
  %.10 = inttoptr i64 %arg.state to ptr
  %.11 = load i64, ptr %.10, align 1
  %.8.fr.i49 = freeze i64 %.11
  %.16 = icmp slt i64 %.8.fr.i49, 4
  br i1 %.16, label %B78, label %B108

B78:                                              ; preds = %B0
  %const224 = bitcast i64 -4611686018427387904 to i64
  %.13.i = add nsw i64 %arg.state, 8
  %.14.i = inttoptr i64 %.13.i to ptr
  %.15.i = load i64, ptr %.14.i, align 1, !noalias !0
  %.20.i = add nsw i64 %arg.state, 16
  %.21.i = inttoptr i64 %.20.i to ptr
  %.22.i = load i64, ptr %.21.i, align 1, !noalias !0
  %.24.i = add nsw i64 %arg.state, 24
  %.25.i = inttoptr i64 %.24.i to ptr
  %.26.i = load i64, ptr %.25.i, align 1, !noalias !0
  %.28.i = add nsw i64 %arg.state, 40
  %.29.i = inttoptr i64 %.28.i to ptr
  %.30.i = load i64, ptr %.29.i, align 1, !noalias !0
  %.41.i = add nsw i64 %arg.state, 96
  %.42.i = inttoptr i64 %.41.i to ptr
  %.43.i = load i64, ptr %.42.i, align 1, !noalias !0
  %..15.i = tail call i64 @llvm.smax.i64(i64 %.15.i, i64 0)
  %0 = add i64 %.43.i, -1
  br label %B346.i

B346.i:                                           ; preds = %B410.i, %B78
  %lsr.iv218 = phi i64 [ %lsr.iv.next219, %B410.i ], [ %..15.i, %B78 ]
  %lsr.iv84.i = phi i64 [ %lsr.iv.next85.i, %B410.i ], [ %0, %B78 ]
  %lsr.iv82.i = phi i64 [ %lsr.iv.next83.i, %B410.i ], [ %.22.i, %B78 ]
  %1 = tail call { i64, i1 } @llvm.usub.with.overflow.i64(i64 %lsr.iv218, i64 1)
  %ov.i = extractvalue { i64, i1 } %1, 1
  br i1 %ov.i, label %B452.i, label %B348.i

B348.i:                                           ; preds = %B346.i
  %.170.i = inttoptr i64 %lsr.iv82.i to ptr
  %.171.i = load i64, ptr %.170.i, align 1, !noalias !0
  %lsr.iv.next85.i = add i64 %lsr.iv84.i, 1
  %lsr.iv.next219 = add nsw i64 %lsr.iv218, -1
  %lsr.iv.next83.i = add i64 %lsr.iv82.i, 8
  %.178.not.i = icmp slt i64 %.171.i, %lsr.iv.next85.i
  br i1 %.178.not.i, label %B410.i, label %common.ret

B410.i:                                           ; preds = %B348.i
  %.181.i = icmp slt i64 %.171.i, 0
  %.184.i = icmp ne i64 %.171.i, %const224
  %or.cond.i = and i1 %.181.i, %.184.i
  br i1 %or.cond.i, label %common.ret, label %B346.i

B452.i:                                           ; preds = %B346.i
  %.214.i = icmp eq i64 %.8.fr.i49, 3
  br i1 %.214.i, label %B474.endif.i, label %B722.endif.i

B506.i:                                           ; preds = %B506.i.preheader, %B716.i.1
  %lsr.iv216 = phi i64 [ %13, %B506.i.preheader ], [ %lsr.iv.next217, %B716.i.1 ]
  %lsr.iv = phi i64 [ %12, %B506.i.preheader ], [ %lsr.iv.next, %B716.i.1 ]
  %lsr.iv60.i = phi i64 [ %lsr.iv.next61.i.1, %B716.i.1 ], [ %lsr.iv60.i.unr, %B506.i.preheader ]
  %2 = add i64 %lsr.iv, 8
  %.352.i = inttoptr i64 %2 to ptr
  %.353.i = load i64, ptr %.352.i, align 1, !noalias !0
  %.358.i = icmp sgt i64 %.353.i, -1
  br i1 %.358.i, label %B590.i, label %B716.i

B590.i:                                           ; preds = %B506.i
  %3 = add i64 %lsr.iv216, 8
  %.361.i = shl nsw i64 %.353.i, 3
  %.363.i = add nsw i64 %.361.i, %.30.i
  %.370.i = inttoptr i64 %.363.i to ptr
  %.371.i = load i64, ptr %.370.i, align 1, !noalias !0
  %.378.i = inttoptr i64 %3 to ptr
  %.379.i = load i64, ptr %.378.i, align 1, !noalias !0
  %.380.i = add nsw i64 %.379.i, %.371.i
  store i64 %.380.i, ptr %.370.i, align 1, !noalias !0
  br label %B716.i

B716.i:                                           ; preds = %B590.i, %B506.i
  %.352.i.1 = inttoptr i64 %lsr.iv to ptr
  %.353.i.1 = load i64, ptr %.352.i.1, align 1, !noalias !0
  %.358.i.1 = icmp sgt i64 %.353.i.1, -1
  br i1 %.358.i.1, label %B590.i.1, label %B716.i.1

B590.i.1:                                         ; preds = %B716.i
  %.361.i.1 = shl nsw i64 %.353.i.1, 3
  %.363.i.1 = add nsw i64 %.361.i.1, %.30.i
  %.370.i.1 = inttoptr i64 %.363.i.1 to ptr
  %.371.i.1 = load i64, ptr %.370.i.1, align 1, !noalias !0
  %.378.i.1 = inttoptr i64 %lsr.iv216 to ptr
  %.379.i.1 = load i64, ptr %.378.i.1, align 1, !noalias !0
  %.380.i.1 = add nsw i64 %.379.i.1, %.371.i.1
  store i64 %.380.i.1, ptr %.370.i.1, align 1, !noalias !0
  br label %B716.i.1

B716.i.1:                                         ; preds = %B590.i.1, %B716.i
  %lsr.iv.next61.i.1 = add nsw i64 %lsr.iv60.i, -2
  %lsr.iv.next = add i64 %lsr.iv, -16
  %lsr.iv.next217 = add i64 %lsr.iv216, -16
  %exitcond230.not.i.1 = icmp eq i64 %lsr.iv.next61.i.1, 0
  br i1 %exitcond230.not.i.1, label %common.ret, label %B506.i

B762.i:                                           ; preds = %B762.i.preheader, %B906.i
  %lsr.iv80.i = phi i64 [ %lsr.iv.next81.i, %B906.i ], [ %.22.i, %B762.i.preheader ]
  %lsr.iv78.i = phi i64 [ %lsr.iv.next79.i, %B906.i ], [ %20, %B762.i.preheader ]
  %lsr.iv76.i = phi i64 [ %lsr.iv.next77.i, %B906.i ], [ %18, %B762.i.preheader ]
  %.494215217.i = phi i64 [ %.501.i, %B906.i ], [ %.43.i, %B762.i.preheader ]
  %.535.i = inttoptr i64 %lsr.iv80.i to ptr
  %.536.i = load i64, ptr %.535.i, align 1, !noalias !0
  %.556.i = icmp sgt i64 %.536.i, -1
  br i1 %.556.i, label %B864.i, label %B906.i

B864.i:                                           ; preds = %B762.i
  %.559.i = shl nsw i64 %.536.i, 3
  %.563.i = add nsw i64 %.559.i, %.30.i
  %.564.i = inttoptr i64 %.563.i to ptr
  %.565.i = load i64, ptr %.564.i, align 1, !noalias !0
  br label %B906.i

B906.i:                                           ; preds = %B864.i, %B762.i
  %found.5.1.i = phi i64 [ %.565.i, %B864.i ], [ %spec.select.i, %B762.i ]
  %4 = add i64 %.26.i, %.494215217.i
  %.578.i = inttoptr i64 %4 to ptr
  %.579.i = load i8, ptr %.578.i, align 1, !noalias !0
  %.581.not.i = icmp eq i8 %.579.i, 0
  %.602.i = icmp eq i64 %found.5.1.i, %const224
  %spec.select33.i = select i1 %.602.i, i64 %.494215217.i, i64 %found.5.1.i
  %found.7.1.i = select i1 %.581.not.i, i64 %found.5.1.i, i64 %spec.select33.i
  %.621.i = inttoptr i64 %lsr.iv78.i to ptr
  store i64 %found.7.1.i, ptr %.621.i, align 1, !noalias !0
  %lsr.iv.next77.i = add i64 %lsr.iv76.i, -1
  %lsr.iv.next79.i = add i64 %lsr.iv78.i, 8
  %lsr.iv.next81.i = add i64 %lsr.iv80.i, 8
  %.501.i = add i64 %.494215217.i, 1
  %.488.i = icmp samesign ugt i64 %lsr.iv.next77.i, 1
  br i1 %.488.i, label %B762.i, label %common.ret

B474.endif.i:                                     ; preds = %B452.i
  %5 = icmp sgt i64 %.15.i, 0
  br i1 %5, label %B506.lr.ph.i, label %common.ret

B506.lr.ph.i:                                     ; preds = %B474.endif.i
  %6 = add i64 %.43.i, %.15.i
  %7 = shl i64 %6, 3
  %8 = add i64 %7, %.30.i
  %9 = shl i64 %.15.i, 3
  %10 = add i64 %.22.i, %9
  %xtraiter = and i64 %.15.i, 1
  %lcmp.mod.not = icmp eq i64 %xtraiter, 0
  br i1 %lcmp.mod.not, label %B506.i.prol.loopexit, label %B506.i.prol

B506.i.prol:                                      ; preds = %B506.lr.ph.i
  %lsr.iv.i.prol = add i64 %8, -8
  %lsr.iv58.i.prol = add i64 %10, -8
  %.352.i.prol = inttoptr i64 %lsr.iv58.i.prol to ptr
  %.353.i.prol = load i64, ptr %.352.i.prol, align 1, !noalias !0
  %.358.i.prol = icmp sgt i64 %.353.i.prol, -1
  br i1 %.358.i.prol, label %B590.i.prol, label %B716.i.prol

B590.i.prol:                                      ; preds = %B506.i.prol
  %.361.i.prol = shl nsw i64 %.353.i.prol, 3
  %.363.i.prol = add nsw i64 %.361.i.prol, %.30.i
  %.370.i.prol = inttoptr i64 %.363.i.prol to ptr
  %.371.i.prol = load i64, ptr %.370.i.prol, align 1, !noalias !0
  %.378.i.prol = inttoptr i64 %lsr.iv.i.prol to ptr
  %.379.i.prol = load i64, ptr %.378.i.prol, align 1, !noalias !0
  %.380.i.prol = add nsw i64 %.379.i.prol, %.371.i.prol
  store i64 %.380.i.prol, ptr %.370.i.prol, align 1, !noalias !0
  br label %B716.i.prol

B716.i.prol:                                      ; preds = %B590.i.prol, %B506.i.prol
  %lsr.iv.next61.i.prol = add nsw i64 %.15.i, -1
  br label %B506.i.prol.loopexit

B506.i.prol.loopexit:                             ; preds = %B716.i.prol, %B506.lr.ph.i
  %lsr.iv60.i.unr = phi i64 [ %.15.i, %B506.lr.ph.i ], [ %lsr.iv.next61.i.prol, %B716.i.prol ]
  %lsr.iv58.i.in.unr = phi i64 [ %10, %B506.lr.ph.i ], [ %lsr.iv58.i.prol, %B716.i.prol ]
  %lsr.iv.i.in.unr = phi i64 [ %8, %B506.lr.ph.i ], [ %lsr.iv.i.prol, %B716.i.prol ]
  %11 = icmp eq i64 %.15.i, 1
  br i1 %11, label %common.ret, label %B506.i.preheader

B506.i.preheader:                                 ; preds = %B506.i.prol.loopexit
  %12 = add i64 %lsr.iv58.i.in.unr, -16
  %13 = add i64 %lsr.iv.i.in.unr, -16
  br label %B506.i

B722.endif.i:                                     ; preds = %B452.i
  %.488216.not.i = icmp slt i64 %.15.i, 1
  br i1 %.488216.not.i, label %common.ret, label %B762.lr.ph.i

B762.lr.ph.i:                                     ; preds = %B722.endif.i
  %.544.i = icmp eq i64 %.8.fr.i49, 2
  %spec.select.i = select i1 %.544.i, i64 0, i64 %const224
  br i1 %.544.i, label %B762.us.preheader.i, label %B762.preheader.i

B762.us.preheader.i:                              ; preds = %B762.lr.ph.i
  %14 = add nuw i64 %.15.i, 1
  %15 = shl i64 %.43.i, 3
  %16 = add i64 %15, %.30.i
  %17 = add i64 %.43.i, %.26.i
  br label %B762.us.i

B762.preheader.i:                                 ; preds = %B762.lr.ph.i
  %.596.i = icmp eq i64 %.8.fr.i49, 0
  %18 = add nuw i64 %.15.i, 1
  %19 = shl i64 %.43.i, 3
  %20 = add i64 %19, %.30.i
  br i1 %.596.i, label %B762.us7.i.preheader, label %B762.i.preheader

B762.i.preheader:                                 ; preds = %B762.preheader.i
  br label %B762.i

B762.us7.i.preheader:                             ; preds = %B762.preheader.i
  br label %B762.us7.i

B762.us7.i:                                       ; preds = %B906.us23.i, %B762.us7.i.preheader
  %lsr.iv74.i = phi i64 [ %lsr.iv.next75.i, %B906.us23.i ], [ %.22.i, %B762.us7.i.preheader ]
  %lsr.iv72.i = phi i64 [ %lsr.iv.next73.i, %B906.us23.i ], [ %20, %B762.us7.i.preheader ]
  %lsr.iv70.i = phi i64 [ %lsr.iv.next71.i, %B906.us23.i ], [ %18, %B762.us7.i.preheader ]
  %.494215217.us9.i = phi i64 [ %.501.us11.i, %B906.us23.i ], [ %.43.i, %B762.us7.i.preheader ]
  %.535.us15.i = inttoptr i64 %lsr.iv74.i to ptr
  %.536.us16.i = load i64, ptr %.535.us15.i, align 1, !noalias !0
  %.556.us17.i = icmp sgt i64 %.536.us16.i, -1
  br i1 %.556.us17.i, label %B864.us18.i, label %B906.us23.i

B864.us18.i:                                      ; preds = %B762.us7.i
  %.559.us19.i = shl nsw i64 %.536.us16.i, 3
  %.563.us20.i = add nsw i64 %.559.us19.i, %.30.i
  %.564.us21.i = inttoptr i64 %.563.us20.i to ptr
  %.565.us22.i = load i64, ptr %.564.us21.i, align 1, !noalias !0
  br label %B906.us23.i

B906.us23.i:                                      ; preds = %B864.us18.i, %B762.us7.i
  %found.5.1.us24.i = phi i64 [ %.565.us22.i, %B864.us18.i ], [ %spec.select.i, %B762.us7.i ]
  %21 = add i64 %.26.i, %.494215217.us9.i
  %.578.us26.i = inttoptr i64 %21 to ptr
  %.579.us27.i = load i8, ptr %.578.us26.i, align 1, !noalias !0
  %.581.not.us28.i = icmp eq i8 %.579.us27.i, 0
  %found.7.1.us.i = select i1 %.581.not.us28.i, i64 %found.5.1.us24.i, i64 %.494215217.us9.i
  %.621.us31.i = inttoptr i64 %lsr.iv72.i to ptr
  store i64 %found.7.1.us.i, ptr %.621.us31.i, align 1, !noalias !0
  %lsr.iv.next71.i = add i64 %lsr.iv70.i, -1
  %lsr.iv.next73.i = add i64 %lsr.iv72.i, 8
  %lsr.iv.next75.i = add i64 %lsr.iv74.i, 8
  %.501.us11.i = add i64 %.494215217.us9.i, 1
  %.488.us32.i = icmp samesign ugt i64 %lsr.iv.next71.i, 1
  br i1 %.488.us32.i, label %B762.us7.i, label %common.ret

B762.us.i:                                        ; preds = %B906.us.i, %B762.us.preheader.i
  %lsr.iv68.i = phi i64 [ %.22.i, %B762.us.preheader.i ], [ %lsr.iv.next69.i, %B906.us.i ]
  %lsr.iv66.i = phi i64 [ %17, %B762.us.preheader.i ], [ %lsr.iv.next67.i, %B906.us.i ]
  %lsr.iv64.i = phi i64 [ %16, %B762.us.preheader.i ], [ %lsr.iv.next65.i, %B906.us.i ]
  %lsr.iv62.i = phi i64 [ %14, %B762.us.preheader.i ], [ %lsr.iv.next63.i, %B906.us.i ]
  %.535.us.i = inttoptr i64 %lsr.iv68.i to ptr
  %.536.us.i = load i64, ptr %.535.us.i, align 1, !noalias !0
  %.556.us.i = icmp sgt i64 %.536.us.i, -1
  br i1 %.556.us.i, label %B864.us.i, label %B906.us.i

B864.us.i:                                        ; preds = %B762.us.i
  %.559.us.i = shl nsw i64 %.536.us.i, 3
  %.563.us.i = add nsw i64 %.559.us.i, %.30.i
  %.564.us.i = inttoptr i64 %.563.us.i to ptr
  %.565.us.i = load i64, ptr %.564.us.i, align 1, !noalias !0
  br label %B906.us.i

B906.us.i:                                        ; preds = %B864.us.i, %B762.us.i
  %found.5.1.us.i = phi i64 [ %.565.us.i, %B864.us.i ], [ %spec.select.i, %B762.us.i ]
  %.578.us.i = inttoptr i64 %lsr.iv66.i to ptr
  %.579.us.i = load i8, ptr %.578.us.i, align 1, !noalias !0
  %.581.not.us.i = icmp ne i8 %.579.us.i, 0
  %.589.us.i = zext i1 %.581.not.us.i to i64
  %spec.select228.i = add nsw i64 %found.5.1.us.i, %.589.us.i
  %.621.us.i = inttoptr i64 %lsr.iv64.i to ptr
  store i64 %spec.select228.i, ptr %.621.us.i, align 1, !noalias !0
  %lsr.iv.next63.i = add i64 %lsr.iv62.i, -1
  %lsr.iv.next65.i = add i64 %lsr.iv64.i, 8
  %lsr.iv.next67.i = add i64 %lsr.iv66.i, 1
  %lsr.iv.next69.i = add i64 %lsr.iv68.i, 8
  %.488.us.i = icmp samesign ugt i64 %lsr.iv.next63.i, 1
  br i1 %.488.us.i, label %B762.us.i, label %common.ret

B108:                                             ; preds = %B0
  %.53 = icmp eq i64 %.8.fr.i49, 4
  br i1 %.53, label %B130, label %B160

B130:                                             ; preds = %B108
  %.6.i = add nsw i64 %arg.state, 16
  %.7.i1 = inttoptr i64 %.6.i to ptr
  %.8.i2 = load i64, ptr %.7.i1, align 1, !noalias !3
  %.10.i = add nsw i64 %arg.state, 24
  %.11.i = inttoptr i64 %.10.i to ptr
  %.12.i = load i64, ptr %.11.i, align 1, !noalias !3
  %.14.i3 = add nsw i64 %arg.state, 40
  %.15.i4 = inttoptr i64 %.14.i3 to ptr
  %.16.i = load i64, ptr %.15.i4, align 1, !noalias !3
  %.27.i = add nsw i64 %arg.state, 104
  %.28.i5 = inttoptr i64 %.27.i to ptr
  %.29.i6 = load i64, ptr %.28.i5, align 1, !noalias !3
  %.31.i = add nsw i64 %arg.state, 112
  %.32.i = inttoptr i64 %.31.i to ptr
  %.33.i = load i64, ptr %.32.i, align 1, !noalias !3
  %.41.i7 = add nsw i64 %arg.state, 8
  %.42.i8 = inttoptr i64 %.41.i7 to ptr
  %.43.i9 = load i64, ptr %.42.i8, align 1, !noalias !3
  %.125162.not.i = icmp slt i64 %.43.i9, 1
  br i1 %.125162.not.i, label %common.ret, label %B344.i.preheader

B344.i.preheader:                                 ; preds = %B130
  %const223 = bitcast i64 -4611686018427387904 to i64
  br label %B344.i

B344.i:                                           ; preds = %B636.i, %B344.i.preheader
  %.131160163.i = phi i64 [ %.138.i, %B636.i ], [ 0, %B344.i.preheader ]
  %.138.i = add nuw nsw i64 %.131160163.i, 1
  %.167.i = shl nsw i64 %.131160163.i, 3
  %.169.i = add nsw i64 %.167.i, %.8.i2
  %.170.i10 = inttoptr i64 %.169.i to ptr
  %.171.i11 = load i64, ptr %.170.i10, align 1, !noalias !3
  %.177.not.i = icmp slt i64 %.171.i11, %.33.i
  br i1 %.177.not.i, label %B400.i, label %common.ret

B400.i:                                           ; preds = %B344.i
  %.180.i = icmp slt i64 %.171.i11, 0
  br i1 %.180.i, label %B412.i, label %B474.i.preheader

B474.i.preheader:                                 ; preds = %B400.i
  br label %B474.i

B412.i:                                           ; preds = %B400.i
  %.183.not.i = icmp eq i64 %.171.i11, %const223
  br i1 %.183.not.i, label %B636.i, label %common.ret

B474.i:                                           ; preds = %B620.i, %B474.i.preheader
  %at.2.1.i = phi i64 [ %.315.i, %B620.i ], [ %.171.i11, %B474.i.preheader ]
  %top.4.1.i = phi i64 [ %top.3.3.i, %B620.i ], [ %const223, %B474.i.preheader ]
  %ones.2.1.i = phi i64 [ %ones.3.3.i, %B620.i ], [ 0, %B474.i.preheader ]
  %twos.2.1.i = phi i64 [ %twos.3.3.i, %B620.i ], [ 0, %B474.i.preheader ]
  %.241.i = add nsw i64 %at.2.1.i, %.12.i
  %.242.i = inttoptr i64 %.241.i to ptr
  %.243.i = load i8, ptr %.242.i, align 1, !noalias !3
  %22 = zext i8 %.243.i to i32
  switch i32 %22, label %B560.i [
    i32 1, label %B522.i
    i32 2, label %B550.i
  ]

B522.i:                                           ; preds = %B474.i
  %.266.i = add nsw i64 %ones.2.1.i, 1
  br label %B560.i

B550.i:                                           ; preds = %B474.i
  %.298.i = add nsw i64 %twos.2.1.i, 1
  br label %B560.i

B560.i:                                           ; preds = %B550.i, %B522.i, %B474.i
  %twos.3.3.i = phi i64 [ %twos.2.1.i, %B522.i ], [ %.298.i, %B550.i ], [ %twos.2.1.i, %B474.i ]
  %top.3.3.i = phi i64 [ %at.2.1.i, %B522.i ], [ %top.4.1.i, %B550.i ], [ %top.4.1.i, %B474.i ]
  %ones.3.3.i = phi i64 [ %.266.i, %B522.i ], [ %ones.2.1.i, %B550.i ], [ %ones.2.1.i, %B474.i ]
  %.311.i = shl nsw i64 %at.2.1.i, 3
  %.313.i = add nsw i64 %.311.i, %.29.i6
  %.314.i = inttoptr i64 %.313.i to ptr
  %.315.i = load i64, ptr %.314.i, align 1, !noalias !3
  %.321.not.i = icmp slt i64 %.315.i, %at.2.1.i
  br i1 %.321.not.i, label %B620.i, label %common.ret

B620.i:                                           ; preds = %B560.i
  %.378.i13 = icmp sgt i64 %.315.i, -1
  br i1 %.378.i13, label %B474.i, label %B636.i

B636.i:                                           ; preds = %B620.i, %B412.i
  %top.2.2.i = phi i64 [ %const223, %B412.i ], [ %top.3.3.i, %B620.i ]
  %ones.4.2.i = phi i64 [ 0, %B412.i ], [ %ones.3.3.i, %B620.i ]
  %twos.4.2.i = phi i64 [ 0, %B412.i ], [ %twos.3.3.i, %B620.i ]
  %.394.i = mul nuw nsw i64 %.131160163.i, 24
  %.396.i = add nsw i64 %.394.i, %.16.i
  %.398.i = inttoptr i64 %.396.i to ptr
  store i64 %top.2.2.i, ptr %.398.i, align 1, !noalias !3
  %.406.i = add nsw i64 %.396.i, 8
  %.408.i = inttoptr i64 %.406.i to ptr
  store i64 %ones.4.2.i, ptr %.408.i, align 1, !noalias !3
  %.418.i = add nsw i64 %.396.i, 16
  %.420.i = inttoptr i64 %.418.i to ptr
  store i64 %twos.4.2.i, ptr %.420.i, align 1, !noalias !3
  %exitcond.not.i = icmp eq i64 %.43.i9, %.138.i
  br i1 %exitcond.not.i, label %common.ret, label %B344.i

B160:                                             ; preds = %B108
  %.88 = icmp samesign ult i64 %.8.fr.i49, 7
  %.17.i = add nsw i64 %arg.state, 16
  %.18.i = inttoptr i64 %.17.i to ptr
  %.19.i = load i64, ptr %.18.i, align 1, !noalias !6
  br i1 %.88, label %B182, label %B212

B182:                                             ; preds = %B160
  %.27.i16 = add nsw i64 %arg.state, 40
  %.28.i17 = inttoptr i64 %.27.i16 to ptr
  %.29.i18 = load i64, ptr %.28.i17, align 1, !noalias !7
  %.41.i19 = add nsw i64 %arg.state, 48
  %.42.i20 = inttoptr i64 %.41.i19 to ptr
  %.43.i21 = load i64, ptr %.42.i20, align 1, !noalias !7
  %.49.i = add nsw i64 %arg.state, 56
  %.50.i = inttoptr i64 %.49.i to ptr
  %.51.i = load i64, ptr %.50.i, align 1, !noalias !7
  %.54.i = add nsw i64 %arg.state, 64
  %.55.i = inttoptr i64 %.54.i to ptr
  %.56.i = load i64, ptr %.55.i, align 1, !noalias !7
  %.65.i = add nsw i64 %arg.state, 72
  %.66.i = inttoptr i64 %.65.i to ptr
  %.67.i = load i64, ptr %.66.i, align 1, !noalias !7
  %.70.i = add nsw i64 %arg.state, 80
  %.71.i = inttoptr i64 %.70.i to ptr
  %.72.i = load i64, ptr %.71.i, align 1, !noalias !7
  %.93.i = add nsw i64 %arg.state, 8
  %.94.i = inttoptr i64 %.93.i to ptr
  %.95.i = load i64, ptr %.94.i, align 1, !noalias !7
  %.178284.not.i = icmp slt i64 %.95.i, 1
  br i1 %.178284.not.i, label %common.ret, label %B570.lr.ph.i

B570.lr.ph.i:                                     ; preds = %B182
  %const222 = bitcast i64 -4611686018427387904 to i64
  %.275.i = icmp eq i64 %.8.fr.i49, 5
  br i1 %.275.i, label %B570.us.i.preheader, label %B570.preheader.i

B570.us.i.preheader:                              ; preds = %B570.lr.ph.i
  %.22.i14 = add nsw i64 %arg.state, 32
  %.23.i = inttoptr i64 %.22.i14 to ptr
  %.24.i15 = load i64, ptr %.23.i, align 1, !noalias !7
  br label %B570.us.i

B570.preheader.i:                                 ; preds = %B570.lr.ph.i
  %23 = add i64 %.72.i, 16
  br label %B570.i

B570.us.i:                                        ; preds = %B1584.us.i, %B570.us.i.preheader
  %lsr.iv19.i = phi i64 [ %lsr.iv.next20.i, %B1584.us.i ], [ %.95.i, %B570.us.i.preheader ]
  %lsr.iv17.i = phi i64 [ %lsr.iv.next18.i, %B1584.us.i ], [ %.19.i, %B570.us.i.preheader ]
  %lsr.iv.i28 = phi i64 [ %lsr.iv.next.i29, %B1584.us.i ], [ %.24.i15, %B570.us.i.preheader ]
  %.223.us.i = inttoptr i64 %lsr.iv17.i to ptr
  %.224.us.i = load i64, ptr %.223.us.i, align 1, !noalias !7
  %.230.not.us.i = icmp slt i64 %.224.us.i, %.43.i21
  br i1 %.230.not.us.i, label %B626.us.i, label %common.ret

B626.us.i:                                        ; preds = %B570.us.i
  %.233.us.i = icmp slt i64 %.224.us.i, 0
  %.236.us.i = icmp ne i64 %.224.us.i, %const222
  %or.cond.us.i = and i1 %.233.us.i, %.236.us.i
  br i1 %or.cond.us.i, label %common.ret, label %B666.us.i

B666.us.i:                                        ; preds = %B626.us.i
  %.718.us.i = icmp sgt i64 %.224.us.i, -1
  br i1 %.718.us.i, label %B1496.us.i, label %B1584.us.i

B1496.us.i:                                       ; preds = %B666.us.i
  %.307.us.i = inttoptr i64 %lsr.iv.i28 to ptr
  %.308.us.i = load i64, ptr %.307.us.i, align 1, !noalias !7
  %.721.us.i = shl nsw i64 %.224.us.i, 3
  %.723.us.i = add nsw i64 %.721.us.i, %.29.i18
  %.730.us.i = inttoptr i64 %.723.us.i to ptr
  %.731.us.i = load i64, ptr %.730.us.i, align 1, !noalias !7
  %.733.us.i = add nsw i64 %.731.us.i, %.308.us.i
  store i64 %.733.us.i, ptr %.730.us.i, align 1, !noalias !7
  br label %B1584.us.i

B1584.us.i:                                       ; preds = %B1496.us.i, %B666.us.i
  %lsr.iv.next.i29 = add i64 %lsr.iv.i28, 8
  %lsr.iv.next18.i = add i64 %lsr.iv17.i, 8
  %lsr.iv.next20.i = add i64 %lsr.iv19.i, -1
  %exitcond304.not.i = icmp eq i64 %lsr.iv.next20.i, 0
  br i1 %exitcond304.not.i, label %common.ret, label %B570.us.i

B570.i:                                           ; preds = %B1584.i, %B570.preheader.i
  %last_end.2.0290.i = phi i64 [ %.324.i, %B1584.i ], [ 0, %B570.preheader.i ]
  %last_start.2.0289.i = phi i64 [ %.318.i, %B1584.i ], [ -9223372036854775808, %B570.preheader.i ]
  %place.3.0288.i = phi i64 [ %place.5.3307.i, %B1584.i ], [ 0, %B570.preheader.i ]
  %n_lanes.2.0287.i = phi i64 [ %n_lanes.4.2.i, %B1584.i ], [ 0, %B570.preheader.i ]
  %.184278285.i = phi i64 [ %.191.i, %B1584.i ], [ 0, %B570.preheader.i ]
  %.191.i = add nuw nsw i64 %.184278285.i, 1
  %.220.i = shl nsw i64 %.184278285.i, 3
  %.222.i = add nsw i64 %.220.i, %.19.i
  %.223.i = inttoptr i64 %.222.i to ptr
  %.224.i = load i64, ptr %.223.i, align 1, !noalias !7
  %.230.not.i = icmp slt i64 %.224.i, %.43.i21
  br i1 %.230.not.i, label %B626.i, label %common.ret

B626.i:                                           ; preds = %B570.i
  %.233.i = icmp slt i64 %.224.i, 0
  %.236.i = icmp ne i64 %.224.i, %const222
  %or.cond.i25 = and i1 %.233.i, %.236.i
  br i1 %or.cond.i25, label %common.ret, label %B666.i

B666.i:                                           ; preds = %B626.i
  %sunkaddr = inttoptr i64 %.51.i to ptr
  %sunkaddr225 = mul i64 %.184278285.i, 8
  %sunkaddr226 = getelementptr i8, ptr %sunkaddr, i64 %sunkaddr225
  %.318.i = load i64, ptr %sunkaddr226, align 1, !noalias !7
  %sunkaddr227 = inttoptr i64 %.56.i to ptr
  %sunkaddr228 = mul i64 %.184278285.i, 8
  %sunkaddr229 = getelementptr i8, ptr %sunkaddr227, i64 %sunkaddr228
  %.324.i = load i64, ptr %sunkaddr229, align 1, !noalias !7
  %sunkaddr230 = inttoptr i64 %.67.i to ptr
  %sunkaddr231 = mul i64 %.184278285.i, 8
  %sunkaddr232 = getelementptr i8, ptr %sunkaddr230, i64 %sunkaddr231
  %.332.i = load i64, ptr %sunkaddr232, align 1, !noalias !7
  %.344.i = icmp slt i64 %.318.i, %last_start.2.0289.i
  br i1 %.344.i, label %common.ret, label %B872.i

B872.i:                                           ; preds = %B666.i
  %.348.i = icmp eq i64 %.318.i, %last_start.2.0289.i
  %.354.i = icmp sgt i64 %.324.i, %last_end.2.0290.i
  %or.cond268.i = select i1 %.348.i, i1 %.354.i, i1 false
  br i1 %or.cond268.i, label %common.ret, label %B902.i

B902.i:                                           ; preds = %B872.i
  %.410.not.i = icmp slt i64 %place.3.0288.i, %n_lanes.2.0287.i
  br i1 %.410.not.i, label %B922.i, label %B972.i

B922.i:                                           ; preds = %B902.i
  %.417.i = shl nsw i64 %place.3.0288.i, 4
  %.421.i = add nsw i64 %.417.i, %.72.i
  %.422.i = inttoptr i64 %.421.i to ptr
  %.423.i = load i64, ptr %.422.i, align 1, !noalias !7
  %.425.not.i = icmp eq i64 %.423.i, %.332.i
  br i1 %.425.not.i, label %B1110.i, label %B972.i

B972.i:                                           ; preds = %B922.i, %B902.i
  %.437.i = icmp sgt i64 %n_lanes.2.0287.i, 0
  br i1 %.437.i, label %B988.i, label %B1110.i

B988.i:                                           ; preds = %B972.i
  %24 = inttoptr i64 %.72.i to ptr
  %.453.i = load i64, ptr %24, align 1, !noalias !7
  %.455.not.i = icmp eq i64 %.453.i, %.332.i
  br i1 %.455.not.i, label %B1110.i, label %B1038.preheader.i

B1038.preheader.i:                                ; preds = %B988.i
  %25 = add nsw i64 %n_lanes.2.0287.i, -1
  br label %B1038.i

B1038.i:                                          ; preds = %B1060.i, %B1038.preheader.i
  %lsr.iv220 = phi i64 [ %lsr.iv.next221, %B1060.i ], [ %23, %B1038.preheader.i ]
  %place.6.3.i = phi i64 [ 0, %B1038.preheader.i ], [ %.461.i, %B1060.i ]
  %exitcond.not.i27 = icmp eq i64 %25, %place.6.3.i
  br i1 %exitcond.not.i27, label %B1122.i, label %B1060.i

B1060.i:                                          ; preds = %B1038.i
  %.461.i = add nuw nsw i64 %place.6.3.i, 1
  %.486.i = inttoptr i64 %lsr.iv220 to ptr
  %.487.i = load i64, ptr %.486.i, align 1, !noalias !7
  %.489.not.i = icmp eq i64 %.487.i, %.332.i
  %lsr.iv.next221 = add i64 %lsr.iv220, 16
  br i1 %.489.not.i, label %B1110.i, label %B1038.i

B1110.i:                                          ; preds = %B1060.i, %B988.i, %B972.i, %B922.i
  %place.5.3.i = phi i64 [ 0, %B972.i ], [ %place.3.0288.i, %B922.i ], [ 0, %B988.i ], [ %.461.i, %B1060.i ]
  %.508.i = icmp eq i64 %place.5.3.i, %n_lanes.2.0287.i
  br i1 %.508.i, label %B1122.i, label %B1110.B1292.endif.endif.endif_crit_edge.i

B1110.B1292.endif.endif.endif_crit_edge.i:        ; preds = %B1110.i
  %.pre.i = shl nsw i64 %place.5.3.i, 4
  br label %B1292.endif.endif.endif.i

B1122.i:                                          ; preds = %B1110.i, %B1038.i
  %sunkaddr233 = inttoptr i64 %arg.state to ptr
  %sunkaddr234 = getelementptr i8, ptr %sunkaddr233, i64 88
  %.516.i = load i64, ptr %sunkaddr234, align 1, !noalias !7
  %.518.i = icmp eq i64 %n_lanes.2.0287.i, %.516.i
  br i1 %.518.i, label %common.ret, label %B1188.i

B1188.i:                                          ; preds = %B1122.i
  %.561.i = add nsw i64 %n_lanes.2.0287.i, 1
  %.567.i = shl nsw i64 %n_lanes.2.0287.i, 4
  %.569.i = add nsw i64 %.567.i, %.72.i
  %.571.i = inttoptr i64 %.569.i to ptr
  store i64 %.332.i, ptr %.571.i, align 1, !noalias !7
  %.579.i26 = add nsw i64 %.569.i, 8
  %.581.i = inttoptr i64 %.579.i26 to ptr
  store i64 %.318.i, ptr %.581.i, align 1, !noalias !7
  br label %B1292.endif.endif.endif.i

B1496.i:                                          ; preds = %B1292.endif.endif.endif.i
  %.13.i.i = tail call i64 @llvm.smax.i64(i64 %.612.i, i64 %.318.i)
  %.645.i = sub nsw i64 %.324.i, %.13.i.i
  %.13.i1.i = tail call i64 @llvm.smax.i64(i64 %.645.i, i64 0)
  %.721.i = shl nsw i64 %.224.i, 3
  %.723.i = add nsw i64 %.721.i, %.29.i18
  %.730.i = inttoptr i64 %.723.i to ptr
  %.731.i = load i64, ptr %.730.i, align 1, !noalias !7
  %.733.i = add nsw i64 %.731.i, %.13.i1.i
  store i64 %.733.i, ptr %.730.i, align 1, !noalias !7
  br label %B1584.i

B1584.i:                                          ; preds = %B1292.endif.endif.endif.i, %B1496.i
  %exitcond303.not.i = icmp eq i64 %.191.i, %.95.i
  br i1 %exitcond303.not.i, label %common.ret, label %B570.i

B1292.endif.endif.endif.i:                        ; preds = %B1188.i, %B1110.B1292.endif.endif.endif_crit_edge.i
  %.607.pre-phi.i = phi i64 [ %.pre.i, %B1110.B1292.endif.endif.endif_crit_edge.i ], [ %.567.i, %B1188.i ]
  %place.5.3307.i = phi i64 [ %place.5.3.i, %B1110.B1292.endif.endif.endif_crit_edge.i ], [ %n_lanes.2.0287.i, %B1188.i ]
  %n_lanes.4.2.i = phi i64 [ %n_lanes.2.0287.i, %B1110.B1292.endif.endif.endif_crit_edge.i ], [ %.561.i, %B1188.i ]
  %26 = inttoptr i64 %.72.i to ptr
  %sunkaddr35.i = getelementptr i8, ptr %26, i64 %.607.pre-phi.i
  %sunkaddr36.i = getelementptr i8, ptr %sunkaddr35.i, i64 8
  %.612.i = load i64, ptr %sunkaddr36.i, align 1, !noalias !7
  %.13.i2.i = tail call i64 @llvm.smax.i64(i64 %.612.i, i64 %.324.i)
  store i64 %.13.i2.i, ptr %sunkaddr36.i, align 1, !noalias !7
  %.718.i = icmp sgt i64 %.224.i, -1
  br i1 %.718.i, label %B1496.i, label %B1584.i

B212:                                             ; preds = %B160
  %.17.i33 = add nsw i64 %arg.state, 24
  %.18.i34 = inttoptr i64 %.17.i33 to ptr
  %.19.i35 = load i64, ptr %.18.i34, align 1, !noalias !10
  %.21.i36 = add nsw i64 %arg.state, 32
  %.22.i37 = inttoptr i64 %.21.i36 to ptr
  %.23.i38 = load i64, ptr %.22.i37, align 1, !noalias !10
  %.34.i = add nsw i64 %arg.state, 104
  %.35.i = inttoptr i64 %.34.i to ptr
  %.36.i = load i64, ptr %.35.i, align 1, !noalias !10
  %.38.i = add nsw i64 %arg.state, 112
  %.39.i = inttoptr i64 %.38.i to ptr
  %.40.i = load i64, ptr %.39.i, align 1, !noalias !10
  %.48.i = add nsw i64 %arg.state, 120
  %.49.i39 = inttoptr i64 %.48.i to ptr
  %.50.i40 = load i64, ptr %.49.i39, align 1, !noalias !10
  %.52.i = add nsw i64 %arg.state, 128
  %.53.i = inttoptr i64 %.52.i to ptr
  %.54.i41 = load i64, ptr %.53.i, align 1, !noalias !10
  %.66.i42 = add nsw i64 %arg.state, 80
  %.67.i43 = inttoptr i64 %.66.i42 to ptr
  %.68.i = load i64, ptr %.67.i43, align 1, !noalias !10
  %.70.i44 = add nsw i64 %arg.state, 40
  %.71.i45 = inttoptr i64 %.70.i44 to ptr
  %.72.i46 = load i64, ptr %.71.i45, align 1, !noalias !10
  %.83.i = add nsw i64 %arg.state, 8
  %.84.i = inttoptr i64 %.83.i to ptr
  %.85.i = load i64, ptr %.84.i, align 1, !noalias !10
  %.168328.not.i = icmp slt i64 %.85.i, 1
  br i1 %.168328.not.i, label %common.ret, label %B658.i.preheader

B658.i.preheader:                                 ; preds = %B212
  %.62.i = add nsw i64 %arg.state, 56
  %.63.i = inttoptr i64 %.62.i to ptr
  %.64.i = load i64, ptr %.63.i, align 1, !noalias !10
  br label %B658.i

B658.i:                                           ; preds = %B2199.i, %B658.i.preheader
  %.174318329.i = phi i64 [ %.181.i50, %B2199.i ], [ 0, %B658.i.preheader ]
  %.181.i50 = add nuw nsw i64 %.174318329.i, 1
  switch i64 %.8.fr.i49, label %B1082.us.i.preheader [
    i64 7, label %B686.i
    i64 9, label %B802.i
    i64 8, label %B1082.i.preheader
  ]

B1082.i.preheader:                                ; preds = %B658.i
  br label %B1082.i

B686.i:                                           ; preds = %B658.i
  %.219.i = shl nsw i64 %.174318329.i, 3
  %.221.i = add nsw i64 %.219.i, %.19.i
  %.222.i60 = inttoptr i64 %.221.i to ptr
  %.223.i61 = load i64, ptr %.222.i60, align 1, !noalias !10
  %.229.not.i = icmp slt i64 %.223.i61, %.40.i
  br i1 %.229.not.i, label %B740.i, label %common.ret

B740.i:                                           ; preds = %B686.i
  %.235.i = icmp slt i64 %.223.i61, 0
  br i1 %.235.i, label %B752.i, label %B1082.us.i.preheader

B1082.us.i.preheader:                             ; preds = %B740.i, %B658.i
  %at.4.2.us.i.ph = phi i64 [ %.174318329.i, %B658.i ], [ %.223.i61, %B740.i ]
  br label %B1082.us.i

B752.i:                                           ; preds = %B740.i
  %const = bitcast i64 -4611686018427387904 to i64
  %.241.not.i = icmp eq i64 %.223.i61, %const
  br i1 %.241.not.i, label %B2199.i, label %common.ret

B802.i:                                           ; preds = %B658.i
  %.284.i = add nsw i64 %.174318329.i, %.19.i35
  %.285.i = inttoptr i64 %.284.i to ptr
  %.286.i = load i8, ptr %.285.i, align 1, !noalias !10
  %.288.i = icmp eq i8 %.286.i, 1
  br i1 %.288.i, label %B846.i, label %B2199.i

B846.i:                                           ; preds = %B802.i
  %27 = icmp sgt i64 %.54.i41, 1
  %.15.i.i = mul nsw i64 %.174318329.i, %.54.i41
  %.17.i.i = add nsw i64 %.15.i.i, %.50.i40
  %.18.i.i = inttoptr i64 %.17.i.i to ptr
  %.19.i.i = load i8, ptr %.18.i.i, align 1, !noalias !13
  %.20.i.i = zext i8 %.19.i.i to i64
  br i1 %27, label %B118.i.i, label %B846.endif.i

B118.i.i:                                         ; preds = %B846.i
  %28 = icmp eq i64 %.54.i41, 2
  %sunkaddr.i.i = inttoptr i64 %.15.i.i to ptr
  %sunkaddr1.i.i = getelementptr i8, ptr %sunkaddr.i.i, i64 %.50.i40
  %sunkaddr2.i.i = getelementptr i8, ptr %sunkaddr1.i.i, i64 1
  %.38.i.i = load i8, ptr %sunkaddr2.i.i, align 1, !noalias !13
  %.39.i.i = zext i8 %.38.i.i to i64
  %.40.i.i = shl nuw nsw i64 %.39.i.i, 8
  %.42.i.i = or disjoint i64 %.40.i.i, %.20.i.i
  br i1 %28, label %B846.endif.i, label %B130.i.i

B130.i.i:                                         ; preds = %B118.i.i
  %sunkaddr235 = inttoptr i64 %.15.i.i to ptr
  %sunkaddr236 = getelementptr i8, ptr %sunkaddr235, i64 %.50.i40
  %sunkaddr237 = getelementptr i8, ptr %sunkaddr236, i64 2
  %.64.i.i = load i16, ptr %sunkaddr237, align 1, !noalias !13
  %29 = zext i16 %.64.i.i to i64
  %30 = shl nuw nsw i64 %29, 16
  %.85.i.i = or disjoint i64 %30, %.42.i.i
  br label %B846.endif.i

B1082.us.i:                                       ; preds = %B1226.us.i, %B1082.us.i.preheader
  %at.4.2.us.i = phi i64 [ %.406.us.i, %B1226.us.i ], [ %at.4.2.us.i.ph, %B1082.us.i.preheader ]
  %.374.us.i = add nsw i64 %at.4.2.us.i, %.19.i35
  %.375.us.i = inttoptr i64 %.374.us.i to ptr
  %.376.us.i = load i8, ptr %.375.us.i, align 1, !noalias !10
  %.382.us.i = icmp eq i8 %.376.us.i, 1
  br i1 %.382.us.i, label %B1270.i, label %B1130.us.i

B1130.us.i:                                       ; preds = %B1082.us.i
  %.402.us.i = shl nsw i64 %at.4.2.us.i, 3
  %.404.us.i = add nsw i64 %.402.us.i, %.36.i
  %.405.us.i = inttoptr i64 %.404.us.i to ptr
  %.406.us.i = load i64, ptr %.405.us.i, align 1, !noalias !10
  %.412.not.us.i = icmp slt i64 %.406.us.i, %at.4.2.us.i
  br i1 %.412.not.us.i, label %B1226.us.i, label %common.ret

B1226.us.i:                                       ; preds = %B1130.us.i
  %.460.us.i = icmp sgt i64 %.406.us.i, -1
  br i1 %.460.us.i, label %B1082.us.i, label %B2199.i

B1082.i:                                          ; preds = %B1226.i, %B1082.i.preheader
  %at.4.2.i = phi i64 [ %.406.i51, %B1226.i ], [ %.174318329.i, %B1082.i.preheader ]
  %.374.i = add nsw i64 %at.4.2.i, %.19.i35
  %.375.i = inttoptr i64 %.374.i to ptr
  %.376.i = load i8, ptr %.375.i, align 1, !noalias !10
  %31 = zext i8 %.376.i to i32
  switch i32 %31, label %B2199.i [
    i32 1, label %B1270.i.loopexit212
    i32 2, label %B1166.i
  ]

B1166.i:                                          ; preds = %B1082.i
  %.402.i = shl nsw i64 %at.4.2.i, 3
  %.404.i = add nsw i64 %.402.i, %.36.i
  %.405.i = inttoptr i64 %.404.i to ptr
  %.406.i51 = load i64, ptr %.405.i, align 1, !noalias !10
  %.412.not.i = icmp slt i64 %.406.i51, %at.4.2.i
  br i1 %.412.not.i, label %B1226.i, label %common.ret

B1226.i:                                          ; preds = %B1166.i
  %.460.i = icmp sgt i64 %.406.i51, -1
  br i1 %.460.i, label %B1082.i, label %B2199.i

B1270.i.loopexit212:                              ; preds = %B1082.i
  br label %B1270.i

B1270.i:                                          ; preds = %B1270.i.loopexit212, %B1082.us.i
  %.us-phi.i = phi i64 [ %at.4.2.i, %B1270.i.loopexit212 ], [ %at.4.2.us.i, %B1082.us.i ]
  %32 = icmp sgt i64 %.54.i41, 1
  %.15.i1.i = mul nsw i64 %.us-phi.i, %.54.i41
  %.17.i2.i = add nsw i64 %.15.i1.i, %.50.i40
  %.18.i3.i = inttoptr i64 %.17.i2.i to ptr
  %.19.i4.i = load i8, ptr %.18.i3.i, align 1, !noalias !16
  %.20.i5.i = zext i8 %.19.i4.i to i64
  br i1 %32, label %B118.i8.i, label %B1270.endif.i

B118.i8.i:                                        ; preds = %B1270.i
  %33 = icmp eq i64 %.54.i41, 2
  %sunkaddr.i9.i = inttoptr i64 %.15.i1.i to ptr
  %sunkaddr1.i10.i = getelementptr i8, ptr %sunkaddr.i9.i, i64 %.50.i40
  %sunkaddr2.i11.i = getelementptr i8, ptr %sunkaddr1.i10.i, i64 1
  %.38.i12.i = load i8, ptr %sunkaddr2.i11.i, align 1, !noalias !16
  %.39.i13.i = zext i8 %.38.i12.i to i64
  %.40.i14.i = shl nuw nsw i64 %.39.i13.i, 8
  %.42.i15.i = or disjoint i64 %.40.i14.i, %.20.i5.i
  br i1 %33, label %B1270.endif.i, label %B130.i17.i

B130.i17.i:                                       ; preds = %B118.i8.i
  %sunkaddr238 = inttoptr i64 %.15.i1.i to ptr
  %sunkaddr239 = getelementptr i8, ptr %sunkaddr238, i64 %.50.i40
  %sunkaddr240 = getelementptr i8, ptr %sunkaddr239, i64 2
  %.64.i21.i = load i16, ptr %sunkaddr240, align 1, !noalias !16
  %34 = zext i16 %.64.i21.i to i64
  %35 = shl nuw nsw i64 %34, 16
  %.85.i30.i = or disjoint i64 %35, %.42.i15.i
  br label %B1270.endif.i

B1342.i:                                          ; preds = %B1270.endif.i
  %.530.i = inttoptr i64 %.518.i55 to ptr
  %.531.i = load i64, ptr %.530.i, align 1, !noalias !10
  %.533.i = shl nsw i64 %.174318329.i, 3
  %.537.i = add nsw i64 %.533.i, %.23.i38
  %.538.i = inttoptr i64 %.537.i to ptr
  br label %B2199.sink.split.i

B1606.i:                                          ; preds = %B1448.endif.i
  %.604.i = add nsw i64 %.518.i55, 24
  %.607.i = inttoptr i64 %.604.i to ptr
  %.608.i = load i64, ptr %.607.i, align 1, !noalias !10
  %.609.i = add nsw i64 %.608.i, 1
  store i64 %.609.i, ptr %.607.i, align 1, !noalias !10
  %sunkaddr241 = inttoptr i64 %.64.i to ptr
  %sunkaddr242 = mul i64 %.174318329.i, 8
  %sunkaddr243 = getelementptr i8, ptr %sunkaddr241, i64 %sunkaddr242
  %.617.i = load i64, ptr %sunkaddr243, align 1, !noalias !10
  %.618.i = icmp sgt i64 %.617.i, 0
  br i1 %.618.i, label %B1732.i, label %B2199.i

B1732.i:                                          ; preds = %B1606.i
  %sunkaddr244 = inttoptr i64 %.36.i to ptr
  %sunkaddr245 = mul i64 %.174318329.i, 8
  %sunkaddr246 = getelementptr i8, ptr %sunkaddr244, i64 %sunkaddr245
  %.627.i = load i64, ptr %sunkaddr246, align 1, !noalias !10
  %.636.i = icmp sgt i64 %.627.i, -1
  br i1 %.636.i, label %B1786.i, label %B2080.i

B1786.i:                                          ; preds = %B1732.i
  %.646.i = add nsw i64 %.627.i, %.19.i35
  %.647.i = inttoptr i64 %.646.i to ptr
  %.648.i = load i8, ptr %.647.i, align 1, !noalias !10
  %.650.not.i = icmp eq i8 %.648.i, 1
  br i1 %.650.not.i, label %B1830.i, label %B1872.preheader.i

B1830.i:                                          ; preds = %B1786.i
  %36 = icmp sgt i64 %.54.i41, 1
  %.15.i32.i = mul nsw i64 %.627.i, %.54.i41
  %.17.i33.i = add nsw i64 %.15.i32.i, %.50.i40
  %.18.i34.i = inttoptr i64 %.17.i33.i to ptr
  %.19.i35.i = load i8, ptr %.18.i34.i, align 1, !noalias !19
  %.20.i36.i = zext i8 %.19.i35.i to i64
  br i1 %36, label %B118.i39.i, label %B1830.endif.i

B118.i39.i:                                       ; preds = %B1830.i
  %37 = icmp eq i64 %.54.i41, 2
  %sunkaddr.i40.i = inttoptr i64 %.15.i32.i to ptr
  %sunkaddr1.i41.i = getelementptr i8, ptr %sunkaddr.i40.i, i64 %.50.i40
  %sunkaddr2.i42.i = getelementptr i8, ptr %sunkaddr1.i41.i, i64 1
  %.38.i43.i = load i8, ptr %sunkaddr2.i42.i, align 1, !noalias !19
  %.39.i44.i = zext i8 %.38.i43.i to i64
  %.40.i45.i = shl nuw nsw i64 %.39.i44.i, 8
  %.42.i46.i = or disjoint i64 %.40.i45.i, %.20.i36.i
  br i1 %37, label %B1830.endif.i, label %B130.i48.i

B130.i48.i:                                       ; preds = %B118.i39.i
  %sunkaddr247 = inttoptr i64 %.15.i32.i to ptr
  %sunkaddr248 = getelementptr i8, ptr %sunkaddr247, i64 %.50.i40
  %sunkaddr249 = getelementptr i8, ptr %sunkaddr248, i64 2
  %.64.i52.i = load i16, ptr %sunkaddr249, align 1, !noalias !19
  %38 = zext i16 %.64.i52.i to i64
  %39 = shl nuw nsw i64 %38, 16
  %.85.i61.i = or disjoint i64 %39, %.42.i46.i
  br label %B1830.endif.i

B1928.i:                                          ; preds = %B1928.i.preheader, %B2200.i
  %.700307.i = phi i64 [ %.700.i, %B2200.i ], [ %.700305.i, %B1928.i.preheader ]
  %.753.i = icmp sgt i64 %.700307.i, -1
  br i1 %.753.i, label %B1982.i, label %B2080.i

B1982.i:                                          ; preds = %B1928.i
  %.759.i = add nsw i64 %.700307.i, %.19.i35
  %.760.i = inttoptr i64 %.759.i to ptr
  %.761.i = load i8, ptr %.760.i, align 1, !noalias !10
  %.763.not.i = icmp eq i8 %.761.i, 1
  br i1 %.763.not.i, label %B2026.i, label %B2200.i

B2026.i:                                          ; preds = %B1982.i
  %40 = icmp sgt i64 %.54.i41, 1
  %.15.i63.i = mul nsw i64 %.700307.i, %.54.i41
  %.17.i64.i = add nsw i64 %.15.i63.i, %.50.i40
  %.18.i65.i = inttoptr i64 %.17.i64.i to ptr
  %.19.i66.i = load i8, ptr %.18.i65.i, align 1, !noalias !22
  %.20.i67.i = zext i8 %.19.i66.i to i64
  br i1 %40, label %B118.i70.i, label %B2026.endif.i

B118.i70.i:                                       ; preds = %B2026.i
  %41 = icmp eq i64 %.54.i41, 2
  %sunkaddr.i71.i = inttoptr i64 %.15.i63.i to ptr
  %sunkaddr1.i72.i = getelementptr i8, ptr %sunkaddr.i71.i, i64 %.50.i40
  %sunkaddr2.i73.i = getelementptr i8, ptr %sunkaddr1.i72.i, i64 1
  %.38.i74.i = load i8, ptr %sunkaddr2.i73.i, align 1, !noalias !22
  %.39.i75.i = zext i8 %.38.i74.i to i64
  %.40.i76.i = shl nuw nsw i64 %.39.i75.i, 8
  %.42.i77.i = or disjoint i64 %.40.i76.i, %.20.i67.i
  br i1 %41, label %B2026.endif.i, label %B130.i79.i

B130.i79.i:                                       ; preds = %B118.i70.i
  %sunkaddr250 = inttoptr i64 %.15.i63.i to ptr
  %sunkaddr251 = getelementptr i8, ptr %sunkaddr250, i64 %.50.i40
  %sunkaddr252 = getelementptr i8, ptr %sunkaddr251, i64 2
  %.64.i83.i = load i16, ptr %sunkaddr252, align 1, !noalias !22
  %42 = zext i16 %.64.i83.i to i64
  %43 = shl nuw nsw i64 %42, 16
  %.85.i92.i = or disjoint i64 %43, %.42.i77.i
  br label %B2026.endif.i

B2080.i:                                          ; preds = %B1928.i, %B1732.i
  %.813.i = add nsw i64 %.518.i55, 16
  %.818.i = inttoptr i64 %.813.i to ptr
  br label %B2199.sink.split.i

B2199.sink.split.i:                               ; preds = %B846.endif.i, %B2080.i, %B1342.i
  %.818.sink130.i = phi ptr [ %.818.i, %B2080.i ], [ %.323.i, %B846.endif.i ], [ %.538.i, %B1342.i ]
  %.617.sink.i = phi i64 [ %.617.i, %B2080.i ], [ 1, %B846.endif.i ], [ %.531.i, %B1342.i ]
  %.818.sink.i = phi ptr [ %.818.i, %B2080.i ], [ %.323.i, %B846.endif.i ], [ %.530.i, %B1342.i ]
  %.819.i = load i64, ptr %.818.sink130.i, align 1, !noalias !10
  %.828.i = add nsw i64 %.819.i, %.617.sink.i
  store i64 %.828.i, ptr %.818.sink.i, align 1, !noalias !10
  br label %B2199.i

B2199.i:                                          ; preds = %B2026.endif.i, %B1830.endif.i, %B1448.endif.i, %B2199.sink.split.i, %B1606.i, %B1226.i, %B1082.i, %B1226.us.i, %B802.i, %B752.i
  %exitcond.not.i53 = icmp eq i64 %.181.i50, %.85.i
  br i1 %exitcond.not.i53, label %common.ret, label %B658.i

B2200.i:                                          ; preds = %B2026.endif.i, %B1982.i
  %.696.i = shl nsw i64 %.700307.i, 3
  %.698.i = add nsw i64 %.696.i, %.36.i
  %.699.i = inttoptr i64 %.698.i to ptr
  %.700.i = load i64, ptr %.699.i, align 1, !noalias !10
  %.702.not.i = icmp slt i64 %.700.i, %.700307.i
  br i1 %.702.not.i, label %B1928.i, label %common.ret

B846.endif.i:                                     ; preds = %B130.i.i, %B118.i.i, %B846.i
  %code.4.0.i.i = phi i64 [ %.85.i.i, %B130.i.i ], [ %.42.i.i, %B118.i.i ], [ %.20.i.i, %B846.i ]
  %.320.i = shl nuw nsw i64 %code.4.0.i.i, 3
  %.322.i = add nsw i64 %.320.i, %.68.i
  %.323.i = inttoptr i64 %.322.i to ptr
  %.324.i58 = load i64, ptr %.323.i, align 1, !noalias !10
  %.325.i = shl nsw i64 %.324.i58, 3
  %.327.i = add nsw i64 %.325.i, %.72.i46
  %.329.i = shl nsw i64 %.174318329.i, 3
  %.333.i = add nsw i64 %.329.i, %.23.i38
  %.334.i = inttoptr i64 %.333.i to ptr
  %.335.i = load i64, ptr %.334.i, align 1, !noalias !10
  %.336.i = inttoptr i64 %.327.i to ptr
  store i64 %.335.i, ptr %.336.i, align 1, !noalias !10
  br label %B2199.sink.split.i

B1270.endif.i:                                    ; preds = %B130.i17.i, %B118.i8.i, %B1270.i
  %code.4.0.i7.i = phi i64 [ %.85.i30.i, %B130.i17.i ], [ %.42.i15.i, %B118.i8.i ], [ %.20.i5.i, %B1270.i ]
  %44 = icmp eq i64 %.8.fr.i49, 7
  %.516.i54 = shl nuw nsw i64 %code.4.0.i7.i, 5
  %.518.i55 = add nsw i64 %.516.i54, %.72.i46
  br i1 %44, label %B1342.i, label %B1448.endif.i

B1448.endif.i:                                    ; preds = %B1270.endif.i
  %.548.i = add nsw i64 %.518.i55, 8
  %.551.i = inttoptr i64 %.548.i to ptr
  %.552.i = load i64, ptr %.551.i, align 1, !noalias !10
  %.554.i = shl nsw i64 %.174318329.i, 3
  %.556.i56 = add nsw i64 %.554.i, %.23.i38
  %.557.i = inttoptr i64 %.556.i56 to ptr
  %.558.i = load i64, ptr %.557.i, align 1, !noalias !10
  %.13.i.i57 = tail call i64 @llvm.smax.i64(i64 %.558.i, i64 0)
  %.587.i = add nsw i64 %.13.i.i57, %.552.i
  store i64 %.587.i, ptr %.551.i, align 1, !noalias !10
  %.592.not.i = icmp eq i64 %.us-phi.i, %.174318329.i
  br i1 %.592.not.i, label %B1606.i, label %B2199.i

B1830.endif.i:                                    ; preds = %B130.i48.i, %B118.i39.i, %B1830.i
  %code.4.0.i38.i = phi i64 [ %.85.i61.i, %B130.i48.i ], [ %.42.i46.i, %B118.i39.i ], [ %.20.i36.i, %B1830.i ]
  %.689.not.i = icmp eq i64 %code.4.0.i38.i, %code.4.0.i7.i
  br i1 %.689.not.i, label %B2199.i, label %B1872.preheader.i

B1872.preheader.i:                                ; preds = %B1830.endif.i, %B1786.i
  %.696302.i = shl nsw i64 %.627.i, 3
  %.698303.i = add nsw i64 %.696302.i, %.36.i
  %.699304.i = inttoptr i64 %.698303.i to ptr
  %.700305.i = load i64, ptr %.699304.i, align 1, !noalias !10
  %.702.not306.i = icmp slt i64 %.700305.i, %.627.i
  br i1 %.702.not306.i, label %B1928.i.preheader, label %common.ret

B1928.i.preheader:                                ; preds = %B1872.preheader.i
  br label %B1928.i

B2026.endif.i:                                    ; preds = %B130.i79.i, %B118.i70.i, %B2026.i
  %code.4.0.i69.i = phi i64 [ %.85.i92.i, %B130.i79.i ], [ %.42.i77.i, %B118.i70.i ], [ %.20.i67.i, %B2026.i ]
  %.797.not.i = icmp eq i64 %code.4.0.i69.i, %code.4.0.i7.i
  br i1 %.797.not.i, label %B2199.i, label %B2200.i

common.ret:                                       ; preds = %B1872.preheader.i, %B2200.i, %B2199.i, %B1166.i, %B1130.us.i, %B752.i, %B686.i, %B212, %B1584.i, %B1122.i, %B872.i, %B666.i, %B626.i, %B570.i, %B1584.us.i, %B626.us.i, %B570.us.i, %B182, %B636.i, %B560.i, %B412.i, %B344.i, %B130, %B906.us.i, %B906.us23.i, %B722.endif.i, %B506.i.prol.loopexit, %B474.endif.i, %B906.i, %B716.i.1, %B410.i, %B348.i
  %.sink.i52.sink = phi i64 [ 0, %B212 ], [ 0, %B906.us.i ], [ 1, %B344.i ], [ 0, %B474.endif.i ], [ 0, %B716.i.1 ], [ 1, %B872.i ], [ 0, %B722.endif.i ], [ 1, %B2200.i ], [ 1, %B626.us.i ], [ 0, %B506.i.prol.loopexit ], [ 0, %B130 ], [ 1, %B1166.i ], [ 1, %B560.i ], [ 0, %B906.us23.i ], [ 1, %B1130.us.i ], [ 0, %B182 ], [ 0, %B906.i ], [ 1, %B348.i ], [ 1, %B410.i ], [ 1, %B412.i ], [ 0, %B636.i ], [ 1, %B570.us.i ], [ 0, %B1584.us.i ], [ 1, %B666.i ], [ 0, %B1584.i ], [ 1, %B570.i ], [ 1, %B1122.i ], [ 1, %B626.i ], [ 1, %B752.i ], [ 1, %B1872.preheader.i ], [ 1, %B686.i ], [ 0, %B2199.i ]
  store i64 %.sink.i52.sink, ptr %retptr, align 8
  ret i32 0
}

declare i64 @llvm.smax.i64(i64, i64)

declare { i64, i1 } @llvm.usub.with.overflow.i64(i64, i64)


!0 = !{!1}
!1 = distinct !{!1, !2, !"_ZN9tracelens6derive15ancestry_kernel5amongB3v26B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dEx: %retptr"}
!2 = distinct !{!2, !"_ZN9tracelens6derive15ancestry_kernel5amongB3v26B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dEx"}
!3 = !{!4}
!4 = distinct !{!4, !5, !"_ZN9tracelens6derive15ancestry_kernel5aboveB3v27B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dEx: %retptr"}
!5 = distinct !{!5, !"_ZN9tracelens6derive15ancestry_kernel5aboveB3v27B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dEx"}
!6 = !{}
!7 = !{!8}
!8 = distinct !{!8, !9, !"_ZN9tracelens6derive15ancestry_kernel6chargeB3v28B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dEx: %retptr"}
!9 = distinct !{!9, !"_ZN9tracelens6derive15ancestry_kernel6chargeB3v28B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dEx"}
!10 = !{!11}
!11 = distinct !{!11, !12, !"_ZN9tracelens6derive15ancestry_kernel7by_codeB3v30B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dEx: %retptr"}
!12 = distinct !{!12, !"_ZN9tracelens6derive15ancestry_kernel7by_codeB3v30B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dEx"}
!13 = !{!14, !11}
!14 = distinct !{!14, !15, !"_ZN9tracelens6derive15ancestry_kernel7code_ofB3v31B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dExxx: %retptr"}
!15 = distinct !{!15, !"_ZN9tracelens6derive15ancestry_kernel7code_ofB3v31B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dExxx"}
!16 = !{!17, !11}
!17 = distinct !{!17, !18, !"_ZN9tracelens6derive15ancestry_kernel7code_ofB3v31B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dExxx: %retptr"}
!18 = distinct !{!18, !"_ZN9tracelens6derive15ancestry_kernel7code_ofB3v31B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dExxx"}
!19 = !{!20, !11}
!20 = distinct !{!20, !21, !"_ZN9tracelens6derive15ancestry_kernel7code_ofB3v31B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dExxx: %retptr"}
!21 = distinct !{!21, !"_ZN9tracelens6derive15ancestry_kernel7code_ofB3v31B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dExxx"}
!22 = !{!23, !11}
!23 = distinct !{!23, !24, !"_ZN9tracelens6derive15ancestry_kernel7code_ofB3v31B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dExxx: %retptr"}
!24 = distinct !{!24, !"_ZN9tracelens6derive15ancestry_kernel7code_ofB3v31B64c8tJTIeFIjxB2IKSgI4CrvQCk0Z4yRYcWsCAQUQzVBEwPKAspPQDFtEEAA_3d_3dExxx"}
